"""A Ray cluster of three nodes on this machine, one core each, for trials and benchmarks."""

import os
from contextlib import contextmanager

from partita.studies.engines.on_ray import _be_quiet

NODE = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
# A node that does not answer is given up after three seconds.
SYSTEM = {"health_check_period_ms": 1000, "health_check_timeout_ms": 2000, "health_check_failure_threshold": 3}


@contextmanager
def three_nodes(**environment: str):
    """Yields the cluster; `ray` is connected to it."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1", **environment}
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "_system_config": SYSTEM})
    try:
        for _ in range(2):
            cluster.add_node(**NODE)
        _be_quiet(ray)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR", configure_logging=False)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
