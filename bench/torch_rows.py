"""The code that a user of torch would write for the rows of bench/beside_torch.R, on the same card:
python3 bench/torch_rows.py [float32] [nearest] [products] [distances] [hessians]

The code uses blocks of 8192 rows, addmm, exp_ and @; float32 without TF32. Times are milliseconds per call between two
CUDA events, the median of two runs of three calls, with tensors on the device.
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
    """The gradient in x of sum_i e_i sum_j exp(-g |x_i - y_j|^2) b_j."""
    parts = []
    for part, weight in zip(x.split(block), e.split(block)):
        k = distances(part, y).mul_(-g).exp_().mul_(b.T).mul_(weight)
        parts.append((part * k.sum(1, keepdim=True) - k @ y).mul_(-2 * g))
    return torch.cat(parts)


def hessian_times(x, y, b, e, h, g):
    """The Hessian in x of sum_i e_i sum_j exp(-g |x_i - y_j|^2) b_j, times h."""
    parts = []
    for part, weight, along in zip(x.split(block), e.split(block), h.split(block)):
        k = distances(part, y).mul_(-g).exp_().mul_(b.T).mul_(weight)
        total = k.sum(1, keepdim=True)
        k.mul_((part * along).sum(1, keepdim=True) - along @ y.T)
        parts.append((part * k.sum(1, keepdim=True) - k @ y).mul_(4 * g * g) - 2 * g * total * along)
    return torch.cat(parts)


def nearest(x, y, k):
    return torch.cat([distances(part, y).topk(k, largest=False).indices for part in x.split(2048)])


def product(x, y, b, function):
    return torch.cat([function(part @ y.T) @ b for part in x.split(block)])


def product_gradient(x, y, b, e):
    """The gradient in x of sum_i e_i sum_j exp(x_i | y_j) b_j."""
    parts = zip(x.split(block), e.split(block))
    return torch.cat([(part @ y.T).exp_().mul_(b.T).mul_(weight) @ y for part, weight in parts])


def wants(rows):
    return rows in sys.argv or not {"nearest", "products", "distances", "hessians"} & set(sys.argv)


def show(name, work, calls=3):
    print(f"{name:36s} {milliseconds(work, calls):8.3g}", flush=True)


print(torch.cuda.get_device_name(), "torch", torch.__version__, str(dtype))
for size in (64, 128, 256, 784, 2048) if wants("nearest") else ():
    x, y = random(10000, size), random(60000, size)
    show(f"11 nearest, D = {size}", lambda: nearest(x, y, 11))
for size in (64, 128, 160, 200, 256, 400, 512, 784, 1024, 2048) if wants("distances") else ():
    x, y, b, e = random(n, size), random(n, size), random(n, 1), random(n, 1)
    show(f"value D = {size}", lambda: gaussian(x, y, b, 5 / size))
    show(f"gradient D = {size}", lambda: gradient(x, y, b, e, 5 / size))
for size in (64, 256, 512) if wants("distances") else ():
    x, y, b = random(n, size), random(n, size), random(n, 64)
    show(f"64 columns, D = {size}", lambda: gaussian(x, y, b, 5 / size))
for size in (20, 32, 47, 48, 65, 100, 200, 300, 512, 1024) if wants("hessians") else ():
    x, y, b, e, h = random(n, size), random(n, size), random(n, 1), random(n, 1), random(n, size)
    show(f"Hessian times vector, D = {size}", lambda: hessian_times(x, y, b, e, h, 5 / size))
for size in (16, 32, 64, 128, 256, 512) if wants("products") else ():
    x, y, b, e = random(n, size), random(n, size) / size, random(n, 1), random(n, 1)
    show(f"exp of products, D = {size}", lambda: product(x, y, b, torch.exp_))
    show(f"cosines of products, D = {size}", lambda: product(x, y, b, torch.cos_))
    show(f"LogSumExp of products, D = {size}", lambda: torch.cat([torch.logsumexp(p @ y.T, 1) for p in x.split(block)]))
    show(f"gradient of exp of products, D = {size}", lambda: product_gradient(x, y, b, e))
if not wants("products"):
    sys.exit()
x, y, b = (random(30000, 64) for _ in range(3))
attention = torch.nn.functional.scaled_dot_product_attention
show("softmax, attention", lambda: attention(x[None, None], y[None, None], b[None, None], scale=1.0), 3)
show("softmax, by blocks", lambda: torch.cat([torch.softmax(part @ y.T, 1) @ b for part in x.split(block)]), 3)
