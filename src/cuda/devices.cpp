// Runs one thread for each device. Only the thread that starts these threads may call R.
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "cuda/cuda.h"

namespace kernops {
namespace cuda {
namespace {

class Team {
 public:
  Team(size_t count, const std::function<void(size_t, const Watch&)>& work)
      : work_(work), done_(count, 0.0), running_(count) {}

  void run(const Watch& keep_going) {
    std::vector<std::thread> threads;
    try {
      for (size_t n = 0; n < done_.size(); ++n) threads.emplace_back([this, n] { work(n); });
      wait(keep_going);
    } catch (...) {
      fail();
    }
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work(size_t n) {
    try {
      work_(n, [this, n](double fraction) {
        const std::lock_guard<std::mutex> lock(mutex_);
        done_[n] = fraction;
        return !failure_;
      });
    } catch (...) {
      fail();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--running_ == 0) ended_.notify_one();
  }

  // Stores the first exception of the threads, so that this exception is reported, and stops the other threads.
  void fail() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }

  void wait(const Watch& keep_going) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!ended_.wait_for(lock, std::chrono::milliseconds(50), [this] { return running_ == 0; })) {
      const double fraction = std::accumulate(done_.begin(), done_.end(), 0.0) / double(done_.size());
      lock.unlock();
      if (keep_going && !keep_going(fraction)) throw Interrupted();
      lock.lock();
    }
  }

  const std::function<void(size_t, const Watch&)>& work_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<double> done_;
  size_t running_;
  std::exception_ptr failure_;
};

}  // namespace

void in_threads(size_t count, const Watch& keep_going, const std::function<void(size_t, const Watch&)>& work) {
  Team(count, work).run(keep_going);
}

}  // namespace cuda
}  // namespace kernops
