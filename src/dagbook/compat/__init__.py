"""Airflow's words: DAG files written for Airflow 2.4 to 3.x run unchanged, and Airflow is not needed for it."""

from dagbook.compat.modules import install, spoken

__all__ = ["install", "spoken"]
