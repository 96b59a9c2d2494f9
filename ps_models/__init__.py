"""Language models over words: the pointer sentinel-LSTM, its baselines, their training and evaluation."""
