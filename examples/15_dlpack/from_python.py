#!/usr/bin/env python3
"""Permutes tensors of PyTorch, CuPy and NumPy through the module `transpose_dlpack`, and compares every bit with what they do themselves.

    from_python.py [MODULE.so] [permutations.txt]

The libraries that are installed are taken; PyTorch and CuPy need a GPU, NumPy's arrays go through the simulator and are cut small.
"""

import importlib.machinery
import importlib.util
import math
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


def find(name, *folders):
    """The first of the files that is there."""
    return next((folder / name for folder in folders if (folder / name).exists()), folders[0] / name)


def load(path):
    """The module, from wherever its file is."""
    loader = importlib.machinery.ExtensionFileLoader("transpose_dlpack", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("transpose_dlpack", loader))
    loader.exec_module(module)
    return module


def literature(path):
    """The 57 permutations of the papers, turned from first axis fastest to last: (shape, axes)."""
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            continue
        order, shapes = line.split(":")
        axes = [len(order) - 1 - int(digit) for digit in reversed(order)]
        for shape in shapes.split(";"):
            yield [int(length) for length in reversed(shape.split(","))], axes


class Numpy:
    """Host memory: the module moves it in its simulator, so shapes are small."""

    name, on_gpu, backwards = "NumPy", False, True
    dtypes = ["bool", "uint8", "int16", "float16", "float32", "int64", "complex64", "complex128"]

    def __init__(self):
        import numpy

        self.lib = numpy

    def shape(self, shape):
        most = {2: 90, 3: 22, 4: 11, 5: 7, 6: 5}[len(shape)]
        return [min(length, most) for length in shape]

    def numbers(self, shape):
        words = self.lib.arange(math.prod(shape), dtype="uint32") * self.lib.uint32(2654435761)
        return words.view("float32").reshape(shape)

    def cast(self, tensor, dtype):
        return (self.bits(tensor) % 2).astype(dtype)

    def permute(self, tensor, axes):
        return tensor.transpose(axes)

    def empty_like(self, tensor):
        return self.lib.zeros_like(tensor, order="C")

    def bits(self, tensor):
        return self.lib.ascontiguousarray(tensor).view("uint8")

    def equal(self, one, other):
        same = one.shape == other.shape and one.dtype == other.dtype
        return same and bool((self.bits(one) == self.bits(other)).all())

    def address(self, tensor):
        return tensor.ctypes.data

    def stream(self):
        return None

    def wait(self):
        pass

    def from_dlpack(self, array):
        return self.lib.from_dlpack(array)


class Cupy(Numpy):
    """Memory of a GPU, with the same methods as NumPy's."""

    name, on_gpu = "CuPy", True

    def __init__(self):
        import cupy

        cupy.cuda.runtime.getDeviceCount()
        self.lib = cupy

    def shape(self, shape):
        return shape

    def address(self, tensor):
        return tensor.data.ptr

    def stream(self):
        return self.lib.cuda.get_current_stream().ptr or 1

    def wait(self):
        self.lib.cuda.Device().synchronize()


class Torch:
    """Memory of a GPU."""

    name, on_gpu, backwards = "PyTorch", True, False

    def __init__(self):
        import torch

        if not torch.cuda.is_available():
            raise ImportError("torch sees no GPU")
        self.lib = torch
        names = "bool uint8 int16 float16 bfloat16 float32 int64 complex64 complex128"
        self.dtypes = [getattr(torch, name) for name in names.split()]

    def shape(self, shape):
        return shape

    def numbers(self, shape):
        words = self.lib.arange(math.prod(shape), dtype=self.lib.int32, device="cuda") * 1640531527
        return words.view(self.lib.float32).reshape(shape)

    def cast(self, tensor, dtype):
        return (self.bits(tensor) % 2).to(dtype)

    def permute(self, tensor, axes):
        return tensor.permute(axes)

    def empty_like(self, tensor):
        return self.lib.zeros(tensor.shape, dtype=tensor.dtype, device="cuda")

    def bits(self, tensor):
        return tensor.contiguous().view(self.lib.uint8)

    def equal(self, one, other):
        same = one.shape == other.shape and one.dtype == other.dtype
        return same and self.lib.equal(self.bits(one), self.bits(other))

    def address(self, tensor):
        return tensor.data_ptr()

    def stream(self):
        return self.lib.cuda.current_stream().cuda_stream or 1

    def wait(self):
        self.lib.cuda.synchronize()

    def from_dlpack(self, array):
        return self.lib.from_dlpack(array)


class Old:
    """A tensor of a library that knows nothing of DLPack 1."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, *, stream=None):
        return self.tensor.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


class OldConsumer(Old):
    """An array as such a library asks for it."""


def check(of, module, tensor, axes, what, source=None):
    """One permutation, both ways of calling, against the library's own."""
    expected = of.permute(tensor, axes)
    stream = of.stream()
    array = module.permuted(source or tensor, axes, stream)
    address = array.address
    if of.on_gpu:
        assert array.source_address == of.address(tensor), f"{what}: the source was copied"
    result = of.from_dlpack(array)
    assert of.equal(result, expected), f"{of.name}: {what}"
    if not of.on_gpu:
        return
    assert of.address(result) == address, f"{what}: the result was copied"
    out = of.empty_like(expected)
    module.permute_into(tensor, axes, out, stream)
    assert of.equal(out, expected), f"{of.name}: {what}, into a tensor that is there"


def check_permutations(of, module, permutations):
    for shape, axes in permutations:
        check(of, module, of.numbers(of.shape(shape)), axes, f"{shape} to {axes}")
    print(f"{of.name}: {len(permutations)} permutations, every bit equal")


def check_views(of, module):
    """Steps, parts, axes in any order, backwards and repeated, are read where they are."""
    tensor = of.numbers([8, 10, 12])
    views = [tensor[1:, ::2], of.permute(tensor, [2, 0, 1])[3:], tensor[:, 3:4], tensor[2], tensor[:0]]
    views += [tensor[:1].expand(5, -1, -1)] if hasattr(tensor, "expand") else []
    views += [of.lib.broadcast_to(tensor[:, :1], (8, 3, 12))] if of.backwards else []
    views += [tensor[::-1, :, ::-3]] if of.backwards else []
    for view in views:
        axes = list(reversed(range(len(view.shape))))
        if 0 in view.shape:
            result = of.from_dlpack(module.permuted(view, axes))
            assert tuple(result.shape) == tuple(reversed(view.shape))
            continue
        try:
            check(of, module, view, axes, f"a view of {tuple(view.shape)}")
        except BufferError:
            # CuPy 14 divides strides as if they had no sign (its issue 10172): what it tells then leads nowhere, and is refused.
            if of.name != "CuPy" or min(view.strides) >= 0:
                raise
    print(f"{of.name}: {len(views)} views of other strides, read where they are")


def check_types(of, module):
    for dtype in of.dtypes:
        tensor = of.cast(of.numbers([6, 7, 9]), dtype)
        check(of, module, tensor, [2, 0, 1], f"{dtype}")
    print(f"{of.name}: {len(of.dtypes)} types of elements")


def check_lifetimes(of, module):
    """Tensors are dropped while work on them is queued, and their memory is handed out again."""
    expected = of.permute(of.numbers([64, 96, 100]), [1, 2, 0])
    results = []
    for _ in range(50):
        array = module.permuted(of.numbers([64, 96, 100]), [1, 2, 0], of.stream())
        results.append(of.from_dlpack(array))
        of.numbers([64, 96, 100])[...] = 0
    assert all(of.equal(result, expected) for result in results)
    old = of.from_dlpack(module.permuted(Old(of.numbers([64, 96, 100])), [1, 2, 0]))
    assert of.equal(old, expected)
    array = module.permuted(of.numbers([2, 3]), [1, 0])
    assert of.from_dlpack(OldConsumer(array)).shape == (3, 2)
    square = of.numbers([3, 3])
    for refused in [
        lambda: array.__dlpack__(),
        lambda: module.permuted(of.numbers([2, 3]), [0, 0]),
        lambda: module.permute_into(square, [1, 0], square),
    ]:
        try:
            refused()
        except BufferError:
            continue
        raise AssertionError("nothing was refused")
    # A capsule that nobody takes frees its tensor.
    module.permuted(of.numbers([2, 3]), [1, 0]).__dlpack__()
    module.permuted(of.numbers([2, 3]), [1, 0]).__dlpack__(max_version=(1, 0))
    print(f"{of.name}: tensors dropped early, and refusals")


def check_streams(of, module):
    """Work before and after the call is on a stream of its own."""
    torch = of.lib
    expected = of.permute(of.numbers([512, 256, 64]), [2, 0, 1]) * 3 + 1
    for _ in range(20):
        with torch.cuda.stream(torch.cuda.Stream()):
            tensor = of.numbers([512, 256, 64]) * 3 + 1
            result = of.from_dlpack(module.permuted(tensor, [2, 0, 1], of.stream()))
            del tensor
            assert of.equal(result, expected)
    print("PyTorch: on streams beside the default one")


def time_calls(of, module):
    """What a call costs the host, in µs; it decides nothing."""
    small = of.numbers([64, 64])
    out = of.empty_like(small)
    stream = of.stream()
    ways = {
        "permute_into": lambda: module.permute_into(small, [1, 0], out, stream),
        "permuted and from_dlpack": lambda: of.from_dlpack(module.permuted(small, [1, 0], stream)),
        "the library's own": lambda: out.__setitem__(Ellipsis, of.permute(small, [1, 0])),
    }
    for name, call in ways.items():
        for count in (100, 1000):
            of.wait()
            start = time.perf_counter()
            for _ in range(count):
                call()
            of.wait()
        print(f"{of.name}: 64 × 64, {name}: {(time.perf_counter() - start) / count * 1e6:.1f} µs a call")


def main():
    module = sys.argv[1] if len(sys.argv) > 1 else find("transpose_dlpack.abi3.so", HERE)
    listed = find("permutations.txt", HERE, HERE.parent.parent / "crates/bench/src")
    permutations = list(literature(pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else listed))
    module = load(module)
    done = 0
    for library in (Numpy, Torch, Cupy):
        try:
            of = library()
        except Exception as reason:  # whatever a library without a GPU says
            print(f"{library.name}: left out: {reason}")
            continue
        check_permutations(of, module, permutations)
        check_views(of, module)
        check_types(of, module)
        check_lifetimes(of, module)
        if library is Torch:
            check_streams(of, module)
        if of.on_gpu:
            time_calls(of, module)
        done += 1
    print(f"{done} of 3 libraries")


if __name__ == "__main__":
    main()
