// K_v(x) and its kin for many x of one order v: polynomials on pieces of the axis, each made when it is first met, of
// values of the integral. What a piece gives depends on order and x alone, not on what was asked for before.
#define KERNOPS_SPECIAL(function, value) double function;
#include <kernops/special.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

namespace kernops {
namespace {

double from_bits(std::uint64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

std::uint64_t bits_of(double x) {
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

struct Order {
  double v;
  int derivative;
  bool scaled;
  bool operator==(const Order& o) const { return v == o.v && derivative == o.derivative && scaled == o.scaled; }
  double at(double x) const { return special::bessel_k(v, x, derivative, scaled); }
};

// 16 pieces between powers of 2: exp(x) K_v(x) on one of them is analytic in a circle 33 times as wide, so its
// Chebyshev series falls off by 66 a term, unless v is large.
class Table {
 public:
  explicit Table(const Order& order) : order(order), pieces_(new Piece[count]()) {}
  const Order order;

  double operator()(double x) {
    const std::uint64_t bits = bits_of(x), number = (bits >> kept_bits) - first;
    if (number >= count) return order.at(x);
    Piece& piece = pieces_[number];
    int state = piece.state.load(std::memory_order_acquire);
    if (state == unknown) state = fill(piece, bits >> kept_bits << kept_bits);
    if (state == outside) return order.at(x);
    const double u = 2 * from_bits((bits << (52 - kept_bits) & mantissa) | one) - 3;  // -1 .. 1 in the piece
    double even = 0, odd = 0;
    for (int n = terms - 2; n >= 0; n -= 2) {
      even = even * (u * u) + piece.c[n];
      odd = odd * (u * u) + piece.c[n + 1];
    }
    return (even + u * odd) * exp(-x);
  }

 private:
  static constexpr int kept_bits = 48, terms = 14;
  static constexpr std::uint64_t mantissa = (std::uint64_t(1) << 52) - 1, one = std::uint64_t(1023) << 52;
  static constexpr std::uint64_t first = (1023 - 30) * 16, count = (30 + 9) * 16;  // from 2^-30 to 512
  enum State { unknown, inside, outside };
  struct Piece {
    std::atomic<int> state;
    std::array<double, terms> c;
  };

  int fill(Piece& piece, std::uint64_t begin) {
    std::array<double, terms> values, series{};
    double least = 1e300;
    const double pi = 3.14159265358979323846, low = from_bits(begin), width = from_bits(begin + one / 1023 / 16) - low;
    for (int k = 0; k < terms; ++k) {
      const double x = low + width * (cos(pi * (k + 0.5) / terms) + 1) / 2, value = order.at(x);
      values[k] = value * exp(x);
      least = abs(value) > 1e-290 && abs(values[k]) < 1e300 ? std::min(least, abs(values[k])) : 0;
    }
    for (int n = 0; n < terms; ++n)
      for (int k = 0; k < terms; ++k)
        series[n] += (n == 0 ? 1 : 2) * values[k] * cos(pi * n * (k + 0.5) / terms) / terms;
    const State state = abs(series[terms - 1]) <= 1e-14 * least ? inside : outside;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (piece.state.load() == unknown) {
      piece.c = powers_of(series);
      piece.state.store(state, std::memory_order_release);
    }
    return state;
  }

  // From a series of Chebyshev polynomials T_n = 2 u T_(n - 1) - T_(n - 2).
  static std::array<double, terms> powers_of(const std::array<double, terms>& series) {
    std::array<double, terms> sum{}, before{}, now{}, next{};
    now[0] = 1;
    for (int n = 0; n < terms; ++n) {
      for (int k = 0; k <= n; ++k) sum[k] += series[n] * now[k];
      for (int k = 0; k < terms; ++k) next[k] = (k > 0 ? (n == 0 ? 1 : 2) * now[k - 1] : 0) - before[k];
      before = n == 0 ? std::array<double, terms>{1} : now;
      now = next;
    }
    return sum;
  }

  std::unique_ptr<Piece[]> pieces_;
  std::mutex mutex_;
};

// The tables of the orders met last, shared by all threads.
std::shared_ptr<Table> table_of(const Order& order) {
  constexpr std::size_t most = 32;
  static std::mutex mutex;
  static std::vector<std::shared_ptr<Table>> all;
  const std::lock_guard<std::mutex> lock(mutex);
  for (const auto& table : all)
    if (table->order == order) return table;
  if (all.size() == most) all.erase(all.begin());
  all.push_back(std::make_shared<Table>(order));
  return all.back();
}

}  // namespace

double special::bessel_k(double v, double x, int derivative, bool scaled, bool one_order) {
  const Order order{v, derivative, scaled};
  if (!one_order || v - v != 0 || !(x > 0) || BesselK{derivative, scaled}.is_closed(v, x)) return order.at(x);
  static thread_local std::shared_ptr<Table> last;
  if (!last || !(last->order == order)) last = table_of(order);
  return (*last)(x);
}

}  // namespace kernops
