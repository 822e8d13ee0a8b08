"""Where bytes come from: sources of every kind, and `fold`, `stream` and `wrap` around them."""
