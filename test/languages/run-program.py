"""Runs a program's folder with the engine that the environment names, as the host of Pulumi's Python programs does."""

import asyncio
import json
import os
import runpy
import sys

import pulumi
import pulumi.runtime

env = os.environ
pulumi.runtime.configure(
    pulumi.runtime.Settings(
        project=env["PULUMI_PROJECT"],
        stack=env["PULUMI_STACK"],
        organization=env["PULUMI_ORGANIZATION"],
        dry_run=env["PULUMI_DRY_RUN"] == "true",
        parallel=int(env["PULUMI_PARALLEL"]),
        monitor=env["PULUMI_MONITOR"],
        engine=env["PULUMI_ENGINE"],
    )
)
pulumi.runtime.config.set_all_config(json.loads(env["PULUMI_CONFIG"]), json.loads(env["PULUMI_CONFIG_SECRET_KEYS"]))


async def main() -> None:
    await pulumi.runtime.run_in_stack(lambda: runpy.run_path(sys.argv[1], run_name="__main__"))


asyncio.run(main())
