"""chunkfold folds the streamed output of any LLM API into the complete message."""
