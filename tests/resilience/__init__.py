"""Streams that stall, drop and get throttled."""
