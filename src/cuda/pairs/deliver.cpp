// Chooses where kernels write the results of a part of the rows: directly to the output of the task, or to a temporary
// buffer ("aside"), from which the results are copied to the output.
#include "cuda/pairs/device_worker.h"

namespace kernops {
namespace cuda {
namespace {

// The layout of results in the temporary buffer, which is similar to the layout of the output: entry k of row n is at k
// * entry + n * row.
struct Order {
  bool by_row;  // true if the entries of a row are contiguous
  Count entry, row;
  Order(const Output& out, int size, Count rows)
      : by_row(out.entry == 1), entry(by_row ? 1 : rows), row(by_row ? size : 1) {}
};

}  // namespace

PairJob DeviceWorker::job_for(const Task& task, Range rows, const Buffer& aside) const {
  PairJob job{};
  job.row_end = rows.count();
  job.any_columns = task.any_columns;
  job.partial_rows = rows.count();
  if (!writes_directly(task.out)) {
    const Order order(task.out, task.plan.reduction.size, rows.count());
    job.out = static_cast<double*>(aside.address()), job.out_entry = order.entry, job.out_row = order.row;
  } else if (task.plan.stores) {  // stored values are column-major: adjacent rows are contiguous
    job.out = task.out.data + (rows.begin - task.first_row);
    job.out_entry = task.out.entry, job.out_row = 1, job.out_column = task.out.row;
  } else {
    job.out = task.out.data + (rows.begin - task.first_row) * task.out.row;
    job.out_entry = task.out.entry, job.out_row = task.out.row;
  }
  return job;
}

bool DeviceWorker::writes_directly(const Output& out) const {
  return out.space != MemorySpace::host && out.device == number_;
}
size_t DeviceWorker::bytes_aside(const Task& task, Count rows) const {
  return writes_directly(task.out) ? 0 : size_t(rows * task.plan.reduction.size) * sizeof(double);
}

void DeviceWorker::deliver(const Task& task, Range rows, const Buffer& from) {
  const Output& out = task.out;
  if (writes_directly(out)) return;
  const int size = task.plan.reduction.size;
  const Count count = rows.count();
  const Order order(out, size, count);
  const Count runs = order.by_row || count == out.entry ? 1 : size;
  const size_t run_bytes = size_t(count * size / runs) * sizeof(double);
  double* first = out.data + (rows.begin - task.first_row) * out.row;
  for (Count run = 0; run < runs; ++run) {
    double* to = first + run * out.entry;
    const DevicePointer there = from.pointer() + size_t(run) * run_bytes;
    if (out.space == MemorySpace::host)
      copy_out(to, there, run_bytes);
    else
      copy_across(reinterpret_cast<DevicePointer>(to), out.device, there, number_, run_bytes);
  }
}

}  // namespace cuda
}  // namespace kernops
