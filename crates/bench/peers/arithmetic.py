"""PyTorch and cuBLAS on the cases of `arithmetic --peers FOLDER`: `python3 arithmetic.py FOLDER [CSV]`

Compares the bytes of the small cases, sums as well, with what PyTorch computes, and ends with 1 if one differs; and, if there is a file to write to, times the large ones: the fastest of the ways that PyTorch has, cuBLAS's geam through
CuPy where it computes that, and a device-to-device copy in the same run. Turns of all contestants, medians.
"""

import csv
import statistics
import sys
from pathlib import Path

import torch

TURNS = 5

# Each byte of what sums are added to, as `arithmetic/verifying.rs` has it.
BEFORE = 0x40


def rows(file):
    for row in csv.DictReader(open(file)):
        numbers = lambda text: [int(number) for number in text.split()]
        types = [getattr(torch, row["from"]), getattr(torch, row["to"])]
        yield types, numbers(row["shape"]), numbers(row["axes"]), float(row["alpha"]), row["adds"] == "1"


def computed(x, before, to, alpha):
    """What the library says that it computes, of numbers and of those that they are added to, if there are any. The product and the sum are each rounded, in 64 bits if one of the types has
    them (or integers of 32), else in 32; the result is rounded once more to its type, integers to the nearest, and numbers of 8 bits are saturated. `torch.add`, which is timed, may round the
    product and the sum once together: the same where the product is exact, as it is of 0.5."""
    is_wide = {x.dtype, to} & {torch.float64, torch.int32, torch.complex128}
    if x.is_complex():
        wide = torch.complex128 if is_wide else torch.complex64
    else:
        wide = torch.float64 if is_wide else torch.float32
    x = x.to(wide)
    if alpha != 1:
        x = x * torch.tensor(alpha, dtype=torch.float32, device=x.device).to(wide)
    if before is not None:
        x = x + before.to(wide)
    if to == torch.float8_e4m3fn:
        x = x.clamp(-448, 448)
    if to == torch.uint8:
        x = x.round().clamp(0, 255)
    return x.to(to)


def differences(ours, theirs):
    """How many elements have other bytes, and the first of them."""
    size = theirs.element_size()
    words = [elements.view(torch.uint8).reshape(-1, size) for elements in (ours, theirs)]
    wrong = (words[0] != words[1]).any(dim=1).nonzero().flatten()
    first = wrong[:3].tolist()
    return len(wrong), ", ".join(f"[{at}] {ours[at].item()} for {theirs[at].item()}" for at in first)


def compare(folder):
    """Small cases, byte for byte: how many differ."""
    different = 0
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for number, (types, shape, axes, alpha, adds) in enumerate(rows(folder / "small.csv")):
        read = lambda end, type: torch.frombuffer(bytearray((folder / f"{number}.{end}").read_bytes()), dtype=type)
        source, ours = read("src", types[0]), read("dst", types[1])
        moved = source.to(device).reshape(shape).permute(axes).contiguous().flatten()
        before = torch.frombuffer(bytearray([BEFORE]) * (ours.numel() * ours.element_size()), dtype=types[1]).to(device)
        theirs = computed(moved, before if adds else None, types[1], alpha).cpu()
        wrong, which = differences(ours, theirs)
        if wrong:
            different += 1
            print(f"DIFFERENT {number} {types} {shape} {axes} {alpha}{' added' if adds else ''}: {wrong} of {ours.numel()} numbers, ours for PyTorch's: {which}")
    print(f"compared, {different} cases differ from PyTorch's")
    return different


def timed(work):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(3):
        work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 3


def contestants(x, out, axes, alpha, adds):
    """The ways that there are, by name."""
    moved = x.permute(axes)
    if adds:
        yield "torch.add", lambda: torch.add(out, moved, alpha=alpha, out=out)
    elif alpha == 1:
        yield "copy_", lambda: out.copy_(moved)
        yield "to.contiguous", lambda: moved.to(out.dtype).contiguous()
        yield "contiguous.to", lambda: moved.contiguous().to(out.dtype)
    else:
        yield "mul", lambda: torch.mul(moved, alpha, out=out) if x.is_floating_point() or x.is_complex() else out.copy_(moved).mul_(alpha)
    if len(axes) == 2 and x.dtype == out.dtype and x.dtype in (torch.float32, torch.float64, torch.complex64):
        try:
            import cupy
            from cupy import cublas

            a, b = cupy.asarray(x), cupy.asarray(out)
            trans = "T" if axes == [1, 0] else "N"
            beta = 1.0 if adds else 0.0
            # Row-major memory is the transpose for cuBLAS; so is the result.
            yield "geam", lambda: cublas.geam(trans, "N", alpha, a.T, beta, b.T, out=b.T)
        except Exception as error:
            print(f"no geam: {error}", file=sys.stderr)


def main():
    folder = Path(sys.argv[1])
    different = compare(folder)
    if len(sys.argv) > 2:
        time_all(folder, sys.argv[2])
    sys.exit(min(different, 1))


def time_all(folder, file):
    """Large cases: a row for each."""
    with open(file, "w") as file:
        write = csv.writer(file)
        write.writerow(["from", "to", "shape", "axes", "alpha", "adds", "memcpy_gb_s", "best", "torch_gb_s", "geam_gb_s"])
        for types, shape, axes, alpha, adds in rows(folder / "cases.csv"):
            elements = 1
            for length in shape:
                elements *= length
            sizes = [torch.empty(0, dtype=type).element_size() for type in types]
            x = torch.zeros(shape, device="cuda").to(types[0])
            out = torch.zeros([shape[a] for a in axes], device="cuda").to(types[1])
            least = min(x.numel() * sizes[0], out.numel() * sizes[1])
            flat_x, flat_out = (torch.empty(least, dtype=torch.uint8, device="cuda") for _ in range(2))
            ways = {"memcpy": lambda: flat_out.copy_(flat_x)}
            for name, work in contestants(x, out, axes, alpha, adds):
                try:
                    work()
                    ways[name] = work
                except Exception as error:
                    print(f"{types} {axes} {name}: {str(error)[:100]}", file=sys.stderr)
            times = {name: [] for name in ways}
            for turn in range(TURNS + 1):
                for name, work in ways.items():
                    time = timed(work)
                    if turn:
                        times[name].append(time)
            bytes_of = lambda name: 2 * least if name == "memcpy" else elements * (sizes[0] + sizes[1] * (2 if adds else 1))
            speed = {name: bytes_of(name) / statistics.median(all) / 1e6 for name, all in times.items()}
            torch_ways = {name: value for name, value in speed.items() if name not in ("memcpy", "geam")}
            best = max(torch_ways, key=torch_ways.get) if torch_ways else ""
            write.writerow([str(types[0]), str(types[1]), " ".join(map(str, shape)), " ".join(map(str, axes)), alpha, int(adds),
                            f"{speed['memcpy']:.1f}", best, f"{torch_ways.get(best, 0):.1f}", f"{speed.get('geam', 0):.1f}"])
            del x, out, ways, flat_x, flat_out
            torch.cuda.empty_cache()


main()
