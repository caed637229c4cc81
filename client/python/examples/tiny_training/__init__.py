"""The parts of examples/train_tiny.py, one idea each."""
