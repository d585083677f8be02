"""Handlers translate HTTP into commands and queries; they decide nothing."""
