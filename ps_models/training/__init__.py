"""Trains models: updates, epochs, schedules, optimizers, checkpoints, logs."""
