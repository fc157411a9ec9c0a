"""Which printed figures are reproduced here: from other printed figures, files, runs of our own."""
