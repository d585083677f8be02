"""Long-running loops: the scheduler, the DAG processor, the triggerer, and who watches over them."""
