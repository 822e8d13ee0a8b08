"""
What five other accumulators hand out while a stream runs, over the events of this one.

Each module is a thin translation around an accumulator with the policy of the same name in `chunkfold.presets`.
Nothing is gathered twice, and nothing here reads or writes. The manual has a page for each in docs/systems/.
"""
