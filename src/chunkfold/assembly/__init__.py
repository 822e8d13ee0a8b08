"""Events in, a response out: what is gathered, and what is made of it. Neither bytes nor providers are known here."""
