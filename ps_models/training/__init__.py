"""Training: updates, epochs, optimizers, checkpoints, logs."""
