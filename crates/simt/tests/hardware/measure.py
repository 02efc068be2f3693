"""Measures on a GPU what each access of probe.ptx costs, for the test in ../hardware.rs to compare.

    ncu --clock-control none --csv --page raw --metrics $(python3 measure.py metrics) \
        python3 measure.py run > measured.csv
    python3 measure.py table measured.csv > measured.txt

`run` launches every kernel once with every pattern, one warp each, through the driver's own
library: nothing but Python and a driver is needed. `table` turns Nsight Compute's output into
lines of kernel, pattern and two numbers: wavefronts and conflicts of the access to shared memory,
requests and sectors of the one to global memory.
"""

import csv
import ctypes
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).parent
BYTES = (1, 2, 4, 8, 16)
KERNELS = [
    f"{space}_{kind}_{size}"
    for space in ("shared", "global")
    for size in BYTES
    for kind in ("load", "store")
]
COUNTERS = {
    "shared": (
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op",
    ),
    "global": (
        "l1tex__t_requests_pipe_lsu_mem_global_op",
        "l1tex__t_sectors_pipe_lsu_mem_global_op",
    ),
}
METRICS = [f"{name}_{op}.sum" for names in COUNTERS.values() for name in names for op in ("ld", "st")]

def patterns():
    for line in (HERE / "patterns.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, lanes = line.split(":")
            yield name, [None if lane == "-" else int(lane) for lane in lanes.split()]


def run():
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *args):
        status = getattr(cuda, name)(*args)
        if status != 0:
            sys.exit(f"{name} failed with {status}")

    device, context, module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), (HERE / "probe.ptx").read_bytes() + b"\0")
    offsets, data = ctypes.c_uint64(), ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(offsets), ctypes.c_size_t(128))
    call("cuMemAlloc_v2", ctypes.byref(data), ctypes.c_size_t(1 << 20))
    arguments = (ctypes.c_void_p * 2)(*(ctypes.addressof(a) for a in (offsets, data)))
    for kernel in KERNELS:
        function = ctypes.c_void_p()
        call("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
        size = int(kernel.split("_")[2])
        for _, lanes in patterns():
            places = (0xFFFFFFFF if lane is None else lane * size for lane in lanes)
            call("cuMemcpyHtoD_v2", offsets, struct.pack("<32I", *places), ctypes.c_size_t(128))
            call("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, None, arguments, None)
            call("cuCtxSynchronize")


def table(path):
    lines = pathlib.Path(path).read_text().splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith('"ID"'))
    # The line below the head holds the units.
    rows = list(csv.DictReader(lines[start:]))[1:]
    names = [(kernel, name) for kernel in KERNELS for name, _ in patterns()]
    if len(rows) != len(names):
        sys.exit(f"{len(rows)} launches in {path}, {len(names)} expected")
    print("# kernel pattern, then wavefronts and conflicts, or requests and sectors")
    for row, (kernel, pattern) in zip(rows, names):
        if row["Kernel Name"].split("(")[0] != kernel:
            sys.exit(f"{row['Kernel Name']} where {kernel} was launched")
        space, kind, _ = kernel.split("_")
        op = "ld" if kind == "load" else "st"
        # Every kernel also loads its offsets from global memory: one request, four sectors.
        besides = (1, 4) if (space, kind) == ("global", "load") else (0, 0)
        cells = (row[f"{name}_{op}.sum"].replace(",", "") for name in COUNTERS[space])
        print(kernel, pattern, *(int(float(cell)) - extra for cell, extra in zip(cells, besides)))


if __name__ == "__main__":
    if sys.argv[1:] == ["metrics"]:
        print(",".join(METRICS))
    elif sys.argv[1:] == ["run"]:
        run()
    elif sys.argv[1:2] == ["table"] and len(sys.argv) == 3:
        table(sys.argv[2])
    else:
        sys.exit(__doc__)
