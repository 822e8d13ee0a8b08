"""What all layers stand on: JSON, whole and cut; what can go wrong on the way; how messages are worded."""
