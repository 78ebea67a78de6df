// Terms and maps, for the CPU and the GPU. A term is the number that is reduced instead of a value. A map computes a
// number for each value from the results of the value's segment. segment_terms.def lists the structs.
#pragma once
#include <kernops/scalar.h>
#include <kernops/state.h>

namespace kernops {
inline namespace KERNOPS_ISA {

// ---- terms: computed from a value x and its weight w; given(k) is result k of the segment from an earlier pass

struct Itself {
  template <class G, class T> static KERNOPS_FN T of(const G&, T x, T) { return x; }
};
struct IsZero {
  template <class G, class T> static KERNOPS_FN T of(const G&, T x, T) { return T(x == 0); }
};
struct OneForZero {
  template <class G, class T> static KERNOPS_FN T of(const G&, T x, T) { return x == 0 ? T(1) : x; }
};
// A value of weight 0 is ignored, even if it is NaN or infinite. The mass (weight) of the value NaN is NaN.
struct Times {
  template <class G, class T> static KERNOPS_FN T of(const G&, T x, T w) { return w == 0 ? T(0) : x * w; }
};
struct Mass {
  template <class G, class T> static KERNOPS_FN T of(const G&, T x, T w) { return x == x || w == 0 ? w : x; }
};
struct PlusLog {
  template <class G, class T> static KERNOPS_FN T of(const G&, T x, T w) { return w == 0 ? log(w) : x + log(w); }
};
struct Present {
  template <class G, class T> static KERNOPS_FN T of(const G&, T, T w) { return T(w != 0); }
};
struct PresentOrNaN {
  template <class G, class T> static KERNOPS_FN T of(const G&, T x, T w) {
    return w == 0 ? T(0) : x == x && w == w ? T(1) : not_a_number<T>();
  }
};
// The exponential exp(x - m), where m is the largest value of the segment: given(1) is m, and given(2) is the sum of
// exp(x - m). The term is NaN if the largest value is infinite.
struct FromLargest {
  template <class G, class T> static KERNOPS_FN T of(const G& given, T x, T) {
    const T largest = T(given(1));
    return exp((x - largest) + (largest - largest));
  }
};
template <class G> KERNOPS_FN double softmax_of(const G& given, double x) {
  return FromLargest::of(given, x, x) / given(2);
}
struct SquareFromMean {
  template <class G, class T> static KERNOPS_FN T of(const G& given, T x, T w) {
    const T distance = x - T(given(0));
    return w == 0 ? T(0) : w * (distance * distance);
  }
};
struct TimesSoftmax {
  template <class G, class T> static KERNOPS_FN T of(const G& given, T x, T w) { return T(softmax_of(given, x)) * w; }
};

// ---- maps: computed from a value s.x() and from numbers of its segment; s.given(0) is the incoming gradient

struct SoftmaxValue {
  template <class S> static KERNOPS_FN double of(const S& s) { return s.softmax(); }
};
struct SumGradient {
  template <class S> static KERNOPS_FN double of(const S& s) { return s.given(0); }
};
struct MeanGradient {
  template <class S> static KERNOPS_FN double of(const S& s) { return s.given(0) / s.length(); }
};
struct VarGradient {
  template <class S> static KERNOPS_FN double of(const S& s) {
    return 2 * (s.x() - s.given(1)) / (s.length() - 1) * s.given(0);
  }
};
struct PositionGradient {
  template <class S> static KERNOPS_FN double of(const S& s) { return s.position() == s.given(1) ? s.given(0) : 0.; }
};
// The gradient with respect to x is the product of the other values. This gradient is computed from the product of the
// values that are not 0 (given(1)), and from the number of zeros (given(2)).
struct ProductGradient {
  template <class S> static KERNOPS_FN double of(const S& s) {
    const double x = s.x(), zeros = s.given(2);
    const double others = s.given(1) / (x == 0 ? 1. : x);
    return (zeros == 0 || (x == 0 && zeros == 1) ? others : others * 0) * s.given(0);
  }
};
struct LogSumExpGradient {
  template <class S> static KERNOPS_FN double of(const S& s) { return s.softmax() * s.given(0); }
};
struct SoftmaxGradient {  // s.given(0) is the sum of softmax values times incoming gradients
  template <class S> static KERNOPS_FN double of(const S& s) { return s.softmax() * (s.incoming() - s.given(0)); }
};

}  // namespace KERNOPS_ISA
}  // namespace kernops
