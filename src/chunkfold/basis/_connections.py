"""
What exceptions of connections and clients tell: whether they may pass, so that asking again is sensible, and a status.

Clients and SDKs are known by the names of their errors; none is imported.
"""

from __future__ import annotations

__all__ = ["is_passing", "sentence_of", "status_of"]

# Errors of connections that are no OSError: httpx and its kin, aiohttp, urllib3, requests, http.client, botocore, the
# SDKs built on them, anyio and trio. A name stands for every class below it.
_CONNECTION_ERRORS = frozenset(
    {
        "TransportError", "NetworkError", "TimeoutException", "RemoteProtocolError", "ReadError", "ConnectError",
        "APIConnectionError", "ClientConnectionError", "ClientPayloadError", "ProtocolError", "ReadTimeoutError",
        "NewConnectionError", "MaxRetryError", "IncompleteRead", "BadStatusLine", "ChunkedEncodingError",
        "HTTPClientError", "EndpointConnectionError", "ConnectionClosedError", "ResponseStreamingError",
        "BrokenResourceError", "EndOfStream", "ServiceUnavailable",
    }
)  # fmt: skip
# Mistakes of the caller and of the machine, and certificates: asking again changes nothing.
_LASTING = frozenset(
    {
        "FileNotFoundError", "PermissionError", "IsADirectoryError", "NotADirectoryError", "FileExistsError",
        "SSLCertVerificationError", "ClientConnectorCertificateError", "CertificateError", "UnsupportedProtocol",
        "LocalProtocolError", "InvalidURL", "StreamConsumed", "StreamClosed", "TooManyRedirects",
    }
)  # fmt: skip


def is_passing(exception: BaseException) -> bool:
    """True if a connection failed in a way that may not last."""
    cause: BaseException | None = exception
    for _ in range(8):
        if cause is None:
            break
        if _names(cause) & _LASTING:
            return False
        cause = cause.__cause__ or cause.__context__
    if isinstance(exception, (OSError, EOFError)):
        return not isinstance(exception, ValueError)
    return bool(_names(exception) & _CONNECTION_ERRORS)


def sentence_of(exception: BaseException) -> str | None:
    """
    What *exception* says; `None` if nothing, or if it cannot say it: those of aiohttp fail where a test has made them
    without a connection.
    """
    try:
        return str(exception) or None
    except Exception:  # noqa: BLE001 - a foreign exception may fail in any way
        return None


def status_of(exception: BaseException) -> int | None:
    """
    The HTTP status of the answer that *exception* is about; `None` if it is about none, or none that is an error.
    httpx's `raise_for_status` raises for redirections too.
    """
    response = getattr(exception, "response", None)
    found = [getattr(exception, "status_code", None), getattr(response, "status_code", None)]
    found += [getattr(exception, "status", None), getattr(response, "status", None), getattr(exception, "code", None)]
    metadata = response.get("ResponseMetadata") if isinstance(response, dict) else None
    if isinstance(metadata, dict):  # botocore
        found.append(metadata.get("HTTPStatusCode"))
    for status in found:
        if isinstance(status, int) and not isinstance(status, bool) and 300 <= status <= 599:
            return int(status)
    return None


def _names(exception: BaseException) -> set[str]:
    return {cls.__name__ for cls in type(exception).__mro__}
