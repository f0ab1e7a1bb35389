// Mutexes whose rules the compiler checks: a member says which mutex guards it, and a function which one its caller
// must hold. Clang's -Wthread-safety, which is an error here, compares every access with these rules. Write the loop
// around a wait for a condition yourself: the check does not look into a lambda.
//
//   MutexLock lock(mutex_);
//   while (queue_.empty()) arrived_.wait(mutex_);
#pragma once
#include <condition_variable>
#include <mutex>

#define CAPABILITY(name) __attribute__((capability(name)))
#define SCOPED_CAPABILITY __attribute__((scoped_lockable))
/// A member that is touched only while the mutex is held.
#define GUARDED_BY(mutex) __attribute__((guarded_by(mutex)))
/// A function whose caller holds the mutex.
#define REQUIRES(...) __attribute__((requires_capability(__VA_ARGS__)))
/// A function that takes the mutex, or releases it.
#define ACQUIRE(...) __attribute__((acquire_capability(__VA_ARGS__)))
#define RELEASE(...) __attribute__((release_capability(__VA_ARGS__)))

namespace tidemark {

class CAPABILITY("mutex") Mutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

/// Holds the mutex until the end of the scope; unlock() and lock() release and retake it in between.
class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : lock_(mutex) {}
  ~MutexLock() RELEASE() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  void lock() ACQUIRE() { lock_.lock(); }
  void unlock() RELEASE() { lock_.unlock(); }

 private:
  std::unique_lock<Mutex> lock_;
};

/// Guards members that one thread at a time may use by an agreement other than a lock. It costs nothing and blocks no
/// thread; the compiler checks that code which uses the members has taken the role.
class CAPABILITY("role") Role {
 public:
  void take() ACQUIRE() {}
  void give_back() RELEASE() {}
};

class CondVar {
 public:
  /// Releases the mutex while it waits. May return although nobody notified.
  void wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  void notify_one() { condition_.notify_one(); }

 private:
  std::condition_variable condition_;
};

}  // namespace tidemark
