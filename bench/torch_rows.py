"""What a user of torch writes for the rows of bench/beside_torch.R, on the same card: python3 bench/torch_rows.py [float32] [nearest]

Blocks of 8192 rows, addmm, exp_, @; float32 without TF32. Milliseconds between two CUDA events, the median of two
times three calls, tensors on the device.
"""
import statistics
import sys

import torch

single = "float32" in sys.argv
dtype = torch.float32 if single else torch.float64
n, block = (40000 if single else 20000), 8192
torch.backends.cuda.matmul.allow_tf32 = False
torch.manual_seed(1)


def random(rows, columns):
    return torch.rand(rows, columns, dtype=dtype, device="cuda")


def milliseconds(work, calls=3):
    work()
    times = []
    for _ in range(2):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(calls):
            work()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / calls)
    return statistics.median(times)


def distances(x, y):
    """|x - y|^2 of a block of rows with all columns."""
    squares = (x * x).sum(1, keepdim=True) + (y * y).sum(1)
    return torch.addmm(squares, x, y.T, alpha=-2)


def gaussian(x, y, b, g):
    return torch.cat([distances(part, y).mul_(-g).exp_() @ b for part in x.split(block)])


def gradient(x, y, b, e, g):
    """That of sum_i e_i sum_j exp(-g |x_i - y_j|^2) b_j in x."""
    parts = []
    for part, weight in zip(x.split(block), e.split(block)):
        k = distances(part, y).mul_(-g).exp_().mul_(b.T).mul_(weight)
        parts.append((part * k.sum(1, keepdim=True) - k @ y).mul_(-2 * g))
    return torch.cat(parts)


def nearest(x, y, k):
    return torch.cat([distances(part, y).topk(k, largest=False).indices for part in x.split(2048)])


def show(name, work, calls=3):
    print(f"{name:28s} {milliseconds(work, calls):8.3g}", flush=True)


print(torch.cuda.get_device_name(), "torch", torch.__version__, str(dtype))
for size in (64, 128, 256, 784, 2048):
    x, y = random(10000, size), random(60000, size)
    show(f"11 nearest, D = {size}", lambda: nearest(x, y, 11))
if "nearest" in sys.argv:
    sys.exit()
for size in (64, 128, 160, 200, 256, 400, 512, 784, 1024, 2048):
    x, y, b, e = random(n, size), random(n, size), random(n, 1), random(n, 1)
    show(f"value D = {size}", lambda: gaussian(x, y, b, 5 / size))
    show(f"gradient D = {size}", lambda: gradient(x, y, b, e, 5 / size))
for size in (64, 256, 512):
    x, y, b = random(n, size), random(n, size), random(n, 64)
    show(f"64 columns, D = {size}", lambda: gaussian(x, y, b, 5 / size))
x, y, b = (random(30000, 64) for _ in range(3))
attention = torch.nn.functional.scaled_dot_product_attention
show("softmax, attention", lambda: attention(x[None, None], y[None, None], b[None, None], scale=1.0), 3)
show("softmax, by blocks", lambda: torch.cat([torch.softmax(part @ y.T, 1) @ b for part in x.split(block)]), 3)
