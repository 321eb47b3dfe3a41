"""Where bytes come from: files, compressed or not, standard input, files that grow."""
