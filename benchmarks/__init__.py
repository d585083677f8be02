"""What Dagbook costs, each figure beside a floor measured in the same run."""
