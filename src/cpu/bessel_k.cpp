// Tables of K_v(x) and related functions. An octave is the range between two successive powers of 2, and is divided
// into 16 pieces. The polynomials of an octave are computed when the first x in this octave is looked up. The
// polynomials of a piece depend only on the function and the piece, and not on earlier calls.
#include <kernops/cpu/bessel_k.h>

#include <array>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

namespace kernops {
namespace {

constexpr double pi = 3.14159265358979323846, nan = std::numeric_limits<double>::quiet_NaN();

// Returns the order v of a function K_v(x) or x^v K_v(x).
double order_of(const BesselFunction& f) { return f.shift < 0 ? f.order : f.order - f.shift; }

// A Taylor series in t around x = c (1 + t). The function is g = exp(x) y, where y is F, dF/dv, d^2F/dv^2, ..., and F =
// K_v or x^v K_v. The function g satisfies
//   x^2 g'' + (a x - 2 x^2) g' - (a x + b) g = r
// with a = 1, b = v^2 for K_v, and a = 1 - 2 v, b = 0 for x^v K_v. r follows from the derivative of the equation with
// respect to v. A factor that depends on v alone, such as that of a Matern correlation, does not change the equation.
class Series {
 public:
  static constexpr int terms = 24;
  Series(const BesselTable& table, double c) : table_(table), c_(c), g_(table.derivative + 1) {
    for (int k = 0; k <= table.derivative; ++k) {
      g_[k][0] = exp(c) * value(k);
      g_[k][1] = c * (g_[k][0] + exp(c) * slope(k));
    }
    complete();
  }

  // Moves the centre of the series from c to c (1 + t).
  void move_by(double t) {
    for (auto& g : g_) {
      double value = 0, slope = 0;
      for (int n = terms - 1; n >= 0; --n) value = value * t + g[n], slope = n > 0 ? slope * t + n * g[n] : slope;
      g[0] = value, g[1] = (1 + t) * slope;
    }
    c_ *= 1 + t;
    complete();
  }

  double at(double t) const {
    double sum = 0;
    for (int n = terms - 1; n >= 0; --n) sum = sum * t + g_.back()[n];
    return sum;
  }
  // Returns whether the series has converged to double precision at t.
  bool converges(double t) const {
    for (const auto& g : g_)
      if (!(abs(g[terms - 1]) * std::pow(t, terms - 1) <= 1e-17 * abs(g_[0][0]))) return false;
    return abs(g_[0][0]) > 1e-290;
  }

 private:
  double value(int k, int less = 0) const {  // the k-th derivative of y, at c, for the order v - less
    if (table_.shift >= 0) return special::matern_k(table_.order, c_, k, table_.shift + less);
    return special::bessel_k(table_.order - less, c_, k, table_.scaled);
  }
  double slope(int k) const { return table_.scaled ? -c_ * value(k, 1) : -0.5 * (value(k, 1) + value(k, -1)); }

  void complete() {
    const double v = order_of(table_), a = table_.scaled ? 1 - 2 * v : 1, b = table_.scaled ? 0 : v * v;
    for (int k = 0; k <= table_.derivative; ++k)
      for (int n = 0; n + 2 < terms; ++n) {
        auto& g = g_[k];
        const double before = n > 0 ? g[n - 1] : 0;
        const double rest = (2.0 * n + a - 2 * c_) * (n + 1) * g[n + 1] - a * c_ * (g[n] + before) +
                            (n * (n - 1 + a - 4 * c_) - b) * g[n] - 2 * c_ * (n - 1) * before;
        g[n + 2] = (right_side(k, n) - rest) / ((n + 2.0) * (n + 1));
      }
  }
  double right_side(int k, int n) const {
    if (k == 0) return 0;
    const auto& h = g_[k - 1];
    if (table_.scaled) return 2 * k * ((n + 1) * h[n + 1] + (n - c_) * h[n] - (n > 0 ? c_ * h[n - 1] : 0));
    return 2 * k * order_of(table_) * h[n] + (k > 1 ? k * (k - 1) * g_[k - 2][n] : 0);
  }

  const BesselTable& table_;
  double c_;
  std::vector<std::array<double, terms>> g_;
};

// Computes the polynomial with `terms` coefficients that interpolates f at the zeros of the Chebyshev polynomial
// T_terms, for u = -1 .. 1. Returns false if the last Chebyshev coefficients are not small.
template <int terms> class Interpolation {
 public:
  Interpolation() {
    for (int k = 0; k < terms; ++k)
      for (int n = 0; n < terms; ++n) cosine_[n][k] = cos(pi * n * (k + 0.5) / terms);
  }
  template <class F> bool operator()(const F& f, double* c) const {
    std::array<double, terms> values, series{};
    double most = 0;
    for (int k = 0; k < terms; ++k) most = std::max(most, abs(values[k] = f(cosine_[1][k])));
    for (int n = 0; n < terms; ++n)
      for (int k = 0; k < terms; ++k) series[n] += (n == 0 ? 1 : 2) * values[k] * cosine_[n][k] / terms;
    powers_of(series, c);
    return abs(series[terms - 1]) <= (terms > 8 ? 1e-13 : 3e-13) * most && most < 1e300;
  }

 private:
  // by the recurrence T_n = 2 u T_(n - 1) - T_(n - 2)
  static void powers_of(const std::array<double, terms>& series, double* sum) {
    std::array<double, terms> before{}, now{}, next{};
    now[0] = 1;
    for (int k = 0; k < terms; ++k) sum[k] = 0;
    for (int n = 0; n < terms; ++n) {
      for (int k = 0; k <= n; ++k) sum[k] += series[n] * now[k];
      for (int k = 0; k < terms; ++k) next[k] = (k > 0 ? (n == 0 ? 1 : 2) * now[k - 1] : 0) - before[k];
      before = n == 0 ? std::array<double, terms>{1} : now;
      now = next;
    }
  }
  double cosine_[terms][terms];
};

class Table : public BesselTable {
 public:
  explicit Table(const BesselFunction& f)
      : BesselTable{f, is_smooth(order_of(f), f.derivative, f.scaled) ? 8 : 16, nullptr, 0},
        numbers_((outside + 1) * terms + 8) {
    pieces = numbers_.data() + (64 - reinterpret_cast<std::uintptr_t>(numbers_.data()) % 64) / sizeof(double);
    pieces[outside * terms] = nan;
    pieces[zero * terms] = f(0);
  }
  // Returns whether polynomials of 8 terms are accurate enough. For moderate orders, x^v K_v(x) exp(x) and its first
  // derivative with respect to v change slowly. Other orders need more terms, because the function varies like x^2v
  // near 0 if v < 0, and like x^(v - 1/2) for large x.
  static bool is_smooth(double v, int k, bool scaled) { return scaled && k <= 1 && v >= 0.3 && v <= 7; }
  bool is(const BesselFunction& f) const {
    return order == f.order && derivative == f.derivative && scaled == f.scaled && shift == f.shift;
  }

  // Fills the octave that contains x, and all octaves between this octave and the filled octaves.
  void fill(double x) {
    if (!(x >= std::ldexp(1.0, lowest) && x < std::ldexp(1.0, highest))) return;
    const int octave = std::ilogb(x) - lowest;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (begin_ == end_) begin_ = end_ = octave;
    for (; octave < begin_; publish()) fill_octave(--begin_);
    for (; octave >= end_; publish()) fill_octave(end_++);
  }

 private:
  void publish() { __atomic_store_n(&known, (std::int64_t(end_) * 16 << 32) + begin_ * 16, __ATOMIC_RELEASE); }
  void fill_octave(int octave) { terms == 8 ? fill_octave<8>(octave) : fill_octave<16>(octave); }

  // Fills an octave from its highest piece to its lowest. Rounding errors decay in this direction from piece to piece,
  // although they grow by exp(x / 8) within a piece.
  template <int terms> void fill_octave(int octave) {
    static const Interpolation<terms> interpolate;
    const double low = std::ldexp(1.0, octave + lowest), half = low / 32;
    Series series(*this, low * 63 / 32);
    bool near = low < 32;
    for (int part = 15; part >= 0; --part) {
      const double center = low + (2 * part + 1) * half;
      const auto by_series = [&](double u) { return series.at(u * half / center); };
      const auto directly = [&](double u) {
        const double x = center + u * half, value = (*this)(x);
        return abs(value) > 1e-290 ? value * exp(x) : nan;
      };
      near = near && series.converges(2 * half / center);
      double* to = pieces + (octave * 16 + part) * terms;
      if (!(near ? interpolate(by_series, to) : interpolate(directly, to))) *to = nan;
      if (near) series.move_by(-2 * half / center);
    }
  }

  std::vector<double> numbers_;
  int begin_ = 0, end_ = 0;  // first filled octave, and the end of the last filled octave
  std::mutex mutex_;
};

// Returns the table of a function. All threads share the `most` tables that were created last.
std::shared_ptr<Table> table_of(const BesselFunction& f) {
  constexpr std::size_t most = 32;
  static std::mutex mutex;
  static std::vector<std::shared_ptr<Table>> all;
  const std::lock_guard<std::mutex> lock(mutex);
  for (const auto& table : all)
    if (table->is(f)) return table;
  if (all.size() == most) all.erase(all.begin());
  all.push_back(std::make_shared<Table>(f));
  return all.back();
}

}  // namespace

const BesselTable& special::bessel_table(const BesselFunction& f) {
  static thread_local std::array<std::shared_ptr<Table>, 8> latest;
  static thread_local unsigned next = 0;
  for (const auto& table : latest)
    if (table && table->is(f)) return *table;
  return *(latest[next++ % latest.size()] = table_of(f));
}

void special::fill_bessel_table(const BesselTable& table, double x) {
  const_cast<Table&>(static_cast<const Table&>(table)).fill(x);
}

}  // namespace kernops
