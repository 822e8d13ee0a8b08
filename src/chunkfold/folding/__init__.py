"""Bytes or payloads in, events or a response out: framing, dialect and assembly put together."""
