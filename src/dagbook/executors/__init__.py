"""Executors take "run this try" and report; they know nothing of dependencies or schedules."""
