"""Retrieved documents, tools, prompts and embeddings, kept apart from answers."""
