"""Pieces that models share: softmaxes, dropout, the LSTM's steps, the look back over a window."""
