"""
Which exceptions of connections may pass, so that asking again is sensible.

Clients and SDKs are known by the names of their errors; none is imported.
"""

from __future__ import annotations

__all__ = ["is_passing"]

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


def _names(exception: BaseException) -> set[str]:
    return {cls.__name__ for cls in type(exception).__mro__}
