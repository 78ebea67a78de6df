// Points and conditioning sets on a device (a set is a point and its neighbours). If memory is short, each launch
// copies the parts that it needs.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "cuda/copied.h"
#include "cuda/sets/sets.h"

namespace kernops {
namespace cuda {

constexpr Count batch = Count(1) << 18;  // sets per launch (a fraction of a second); R can interrupt between launches
constexpr int chunk = 16;

// Returns the bytes of shared memory that a block can use on each of the devices.
inline int shared_room(const std::vector<int>& devices) {
  check_devices(devices);
  const std::vector<Device> all = cuda::devices();
  int least = std::numeric_limits<int>::max();
  for (const int device : devices) least = std::min(least, all[size_t(device)].shared_bytes);
  return least;
}

// Lays out the shared memory of a block for the largest sets. Shared memory has as many panels (4 columns) of a set's
// matrix as fit; the other panels are in device memory.
template <class T> SetMemory memory_for(const SetRequest& request, const DeviceSetJob<T>& job) {
  const Plan& values = plan_of(*request.covariance);
  const Plan& slopes = request.slopes ? plan_of(*request.slopes) : values;
  const auto entries = [](const Plan& plan, Level level) { return std::max(plan.entries[int(level)], 1); };
  const int size = set_columns(job.m + 1);
  const int rows = set_rows<T>(size + job.columns + job.parameters), matrix = set_numbers(size, rows);
  SetMemory to{};
  int end = 0;
  const auto take = [&](int& place, int count, size_t bytes = sizeof(T)) {
    place = end, end += int(ceil_div(count * Count(bytes), 16) * 16 / Count(sizeof(T)));
  };
  take(to.contrast, size);
  take(to.once, entries(values, Level::uniform) + entries(slopes, Level::uniform));
  take(to.columns, std::max(entries(values, Level::column), entries(slopes, Level::column)) * (job.m + 1));
  take(to.dots, job.parameters * (job.columns + job.parameters));
  take(to.sums, job.sums(), sizeof(double));
  take(to.members, job.m, sizeof(int));
  const int room = shared_room(request.settings.devices) / int(sizeof(T));
  while (4 * to.far < size && end + matrix - set_numbers(4 * to.far, rows) > room) ++to.far;
  const int shared = matrix - set_numbers(4 * to.far, rows);
  for (int* place : {&to.once, &to.columns, &to.contrast, &to.dots, &to.sums, &to.members, &end}) *place += shared;
  to.end = end;
  return to;
}

// Returns the job of a request, with the sizes and the memory of the blocks, but without the addresses of the data.
template <class T> DeviceSetJob<T> job_of(const SetRequest& request) {
  DeviceSetJob<T> job{};
  job.m = request.m, job.stride = request.stride, job.columns = request.columns, job.nugget = request.nugget;
  job.parameters = request.slopes ? request.parameters : 0;
  job.memory = memory_for(request, job);
  const int size = set_columns(job.m + 1), rows = set_rows<T>(size + job.columns + job.parameters);
  job.far_numbers = ceil_div(set_numbers(4 * job.memory.far, rows), 4) * 4;
  return job;
}

// Returns the middle of the range of a coordinate. This origin is subtracted from the coordinate before the conversion
// to float, which has a precision of only 24 bits.
inline double centre(const double* x, Count count) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (Count i = 0; i < count; ++i)
    if (std::isfinite(x[i])) low = std::min(low, x[i]), high = std::max(high, x[i]);
  return low <= high ? low + (high - low) / 2 : 0;
}

// The points that sets read: all points of a request, followed by space for points that belong to only one set, such as
// new locations (put_own()). If `rows` is given, only these rows are stored, renumbered from 0.
template <class T> class DevicePoints {
 public:
  DevicePoints(const SetRequest& request, const std::vector<double>& centre, const std::vector<Count>* rows = nullptr)
      : count_(rows ? Count(rows->size()) : points_of(request)),
        points_(size_t(count_ * request.d)),
        noise_(request.noise ? size_t(count_) : 0),
        slope_(request.noise_slope ? size_t(count_) : 0),
        values_(size_t(count_ * request.columns)) {
    const std::vector<double> none(size_t(request.own ? request.sets : 0), 0);
    const auto put = [&](const Copied<T>& to, int k, const double* from, const double* own, double less = 0) {
      if (rows) return to.put(size_t(k * count_), gathered(*rows, request.n, from, own).data(), rows->size(), less);
      to.put(size_t(k * count_), from, size_t(request.n), less);
      to.put(size_t(k * count_ + request.n), own, none.size(), less);
    };
    for (int k = 0; k < request.d; ++k)
      put(points_, k, request.points + k * request.n, rows ? own_points(request, k) : nullptr, centre[size_t(k)]);
    if (request.noise) put(noise_, 0, request.noise, none.data());
    if (request.noise_slope) put(slope_, 0, request.noise_slope, none.data());
    for (int k = 0; k < request.columns; ++k) put(values_, k, request.values + k * request.n, none.data());
  }

  Count room(const SetRequest& request) const { return count_ - request.n; }
  void put_own(const SetRequest& request, const std::vector<double>& centre) const {
    for (int k = 0; request.own && k < request.d; ++k)
      points_.put(size_t(k * count_ + request.n), own_points(request, k), size_t(request.sets), centre[size_t(k)]);
  }

  void tell(DeviceSetJob<T>& job) const {
    job.points = points_.data(), job.noise = noise_.data(), job.noise_slope = slope_.data();
    job.values = values_.data(), job.n = count_;
  }

  static size_t bytes_each(const SetRequest& request) { return size_t(request.d + 2 + request.columns) * sizeof(T); }
  static Count points_of(const SetRequest& request) { return request.n + (request.own ? request.sets : 0); }

 private:
  static const double* own_points(const SetRequest& request, int k) {
    return request.own ? request.own + k * request.sets : nullptr;
  }
  static std::vector<double> gathered(const std::vector<Count>& rows, Count n, const double* from, const double* own) {
    std::vector<double> some(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) some[i] = rows[i] < n ? from[rows[i]] : own[rows[i] - n];
    return some;
  }

  const Count count_;
  const Copied<T> points_, noise_, slope_, values_;
};

// The points that some sets read: the points of these sets, followed by their neighbours. Points and neighbours are
// renumbered.
struct SomePoints {
  SomePoints(const SetRequest& request, Count begin, Count count, std::vector<int>& place)
      : neighbours(request.neighbours + begin * request.stride, request.neighbours + (begin + count) * request.stride) {
    place.resize(size_t(request.n), 0);  // place of each point in `rows`, from 1; 0 if the point is absent
    const auto take = [&](Count row) {
      rows.push_back(row);
      if (row < request.n) place[size_t(row)] = int(rows.size());
    };
    for (Count s = 0; s < count; ++s) take(request.first + begin + s);
    for (int& number : neighbours) {
      if (number == 0) continue;
      if (place[size_t(number - 1)] == 0) take(number - 1);
      number = place[size_t(number - 1)];
    }
    for (const Count row : rows)
      if (row < request.n) place[size_t(row)] = 0;
  }
  std::vector<Count> rows;
  std::vector<int> neighbours;
};

// Points and conditioning sets on a device. The points stay on the device if they take at most half of the free memory.
// The numbers of the neighbours also stay if they fit. If points or neighbours do not fit, each launch copies the parts
// that it needs.
template <class T> class DeviceSets {
 public:
  DeviceSets(const SetRequest& request, bool centred) : centre_(size_t(request.d), 0) {
    for (int k = 0; centred && k < request.d; ++k)
      centre_[size_t(k)] = centre(request.points + k * request.n, request.n);
    if (!fit(size_t(DevicePoints<T>::points_of(request)) * DevicePoints<T>::bytes_each(request))) return;
    points_ = std::make_unique<DevicePoints<T>>(request, centre_);
    const size_t count = size_t(request.sets * request.stride);
    if (!request.own && fit(count * sizeof(int)))
      neighbours_ = std::make_unique<Copied<int>>(request.neighbours, count);
  }

  // Returns whether the stored points can be used for another request.
  bool serves(const SetRequest& request) const {
    return !request.own || !points_ || request.sets <= points_->room(request);
  }

  void put_own(const SetRequest& request) const {
    if (points_) points_->put_own(request, centre_);
  }

  // Returns the job for the sets from `begin` on, at most one batch.
  DeviceSetJob<T> job(const SetRequest& request, DeviceSetJob<T> job, Count begin) const {
    if (points_) points_->tell(job);
    job.slopes_of_noise = T(request.slopes_of_noise), job.diagonal = T(request.diagonal);
    job.first = request.first + begin, job.sets = std::min(batch, request.sets - begin);
    job.chunk = chunk, job.blocks = int(ceil_div(job.sets, chunk));
    return job;
  }

  // Calls run(job, first, count) for the sets of a job; the first set has number `begin`. If points and neighbours stay
  // on the device, there is one call for all sets. If points and neighbours are copied, each call processes as many
  // sets as fit into a quarter of the free memory, with their points, neighbours and results. A copy waits for the
  // previous launch, because all work of a device runs in order.
  // long: the copied data of a batch must outlive the launch
  template <class Run>
  void each_piece(const SetRequest& request, DeviceSetJob<T> job, Count begin, size_t bytes, const Run& run) const {
    if (!neighbours_) bytes += size_t(job.stride) * sizeof(int);
    if (!points_) bytes += size_t(job.stride + 1) * DevicePoints<T>::bytes_each(request);
    const Count most =
        bytes == 0 ? job.sets : std::max<Count>(1, Count(memory_left() / 4 / bytes) / chunk) * Count(chunk);
    std::vector<int> place;
    for (Count first = 0; first < job.sets; first += most) {
      const Count count = std::min<Count>(most, job.sets - first);
      const int* from = request.neighbours + (begin + first) * job.stride;
      std::unique_ptr<DevicePoints<T>> points;
      std::unique_ptr<SomePoints> subset;
      if (!points_) {
        subset = std::make_unique<SomePoints>(request, begin + first, count, place);
        points = std::make_unique<DevicePoints<T>>(request, centre_, &subset->rows);
        points->tell(job);
        from = subset->neighbours.data(), job.first = -first;
      }
      const Copied<int> neighbours(from, neighbours_ ? 0 : size_t(count * job.stride));
      job.neighbours =
          neighbours_ ? neighbours_->data() + begin * job.stride : neighbours.data_from(first * job.stride);
      job.first_block = int(first / chunk);
      run(job, first, count);
    }
  }

 private:
  static bool fit(size_t bytes) {
    if (bytes <= memory_left() / 2) return true;
    collect_garbage();
    return bytes <= memory_left() / 2;
  }

  std::vector<double> centre_;
  std::unique_ptr<DevicePoints<T>> points_;
  std::unique_ptr<Copied<int>> neighbours_;
};

}  // namespace cuda
}  // namespace kernops
