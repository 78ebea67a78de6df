// The CUDA texts that sort segments and compute statistics of sorted values: the texts name the types of the values and
// of the results.
#include "cuda/segments/segments.h"

namespace kernops {
namespace cuda {
namespace {

std::string text_of(const SegmentValues& x, const char* header, const std::string& finish) {
  const char* types[] = {"double", "float", "int"};
  return std::string("#include <kernops/cuda/segments/") + header + ".cuh>\nKERNOPS_SEGMENT_SORT(" + types[x.type] +
         ", " + finish + ")\n";
}

}  // namespace

std::string sort_text(const SortRequest& request) {
  const char* finishes[] = {"SortedValues<double>", "SortedRows", "SortedRanks", "SortedTop"};
  const bool floats = request.result == SortRequest::values && request.out.space == MemorySpace::device_float;
  return text_of(request.x, "sorted_values", floats ? "SortedValues<float>" : finishes[request.result]);
}

std::string order_text(const OrderRequest& request) {
  if (request.is_gradient()) {
    const std::string result = request.out.space == MemorySpace::device_float ? "float" : "double";
    const std::string difference = chosen_values(request).difference ? ", true>" : ", false>";
    return text_of(request.x, "order_gradient", "OrderGradient<" + result + difference);
  }
  const std::string weighted = request.weights ? "true" : "false";
  return text_of(request.x, "order_statistics",
                 std::string("OrderStatistic<") + kernops::order_statistics()[size_t(request.op)].function + "<" +
                     weighted + ">, " + weighted + ">");
}

std::vector<std::string> all_sort_texts() {
  std::vector<std::string> texts;
  Segments segments;
  const double weights = 1;
  for (const auto type : {SegmentValues::doubles, SegmentValues::floats, SegmentValues::integers}) {
    SortRequest sort{segments};
    sort.x.type = type;
    sort.out.space = type == SegmentValues::floats ? MemorySpace::device_float : MemorySpace::device_double;
    for (const auto result : {SortRequest::values, SortRequest::rows, SortRequest::ranks, SortRequest::first}) {
      sort.result = result;
      texts.push_back(sort_text(sort));
    }
    OrderRequest order{segments};
    order.x.type = type;
    for (size_t op = 0; op < kernops::order_statistics().size(); ++op) {
      order.op = int(op), order.weights = kernops::order_statistics()[op].weights && op % 2 ? &weights : nullptr;
      texts.push_back(order_text(order));
    }
    order.weights = nullptr, order.incoming.data = &weights, order.out.space = sort.out.space;
    for (order.op = 0; order.op < 2; ++order.op) texts.push_back(order_text(order));
  }
  return texts;
}

}  // namespace cuda
}  // namespace kernops
