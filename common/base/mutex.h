// Mutexes whose rules the compiler checks: a member says which mutex guards it, and a function which one its caller
// must hold. Clang's -Wthread-safety, which is an error here, compares every access with what is written. Whoever waits
// for a condition writes the loop: the check does not look into a lambda.
//
//   MutexLock lock(mutex_);
//   while (queue_.empty()) arrived_.wait(mutex_);
#pragma once
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#define CAPABILITY(name) __attribute__((capability(name)))
#define SCOPED_CAPABILITY __attribute__((scoped_lockable))
/// A member that is touched only while the mutex is held.
#define GUARDED_BY(mutex) __attribute__((guarded_by(mutex)))
/// A function whose caller holds the mutex, or must not hold it.
#define REQUIRES(...) __attribute__((requires_capability(__VA_ARGS__)))
#define EXCLUDES(...) __attribute__((locks_excluded(__VA_ARGS__)))
/// A function that takes the mutex, or gives it up.
#define ACQUIRE(...) __attribute__((acquire_capability(__VA_ARGS__)))
#define ACQUIRE_SHARED(...) __attribute__((acquire_shared_capability(__VA_ARGS__)))
#define RELEASE(...) __attribute__((release_capability(__VA_ARGS__)))
#define RELEASE_SHARED(...) __attribute__((release_shared_capability(__VA_ARGS__)))
#define RELEASE_GENERIC(...) __attribute__((release_generic_capability(__VA_ARGS__)))

namespace tidemark {

class CAPABILITY("mutex") Mutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

/// Holds the mutex until the end of the scope; unlock() and lock() let go of it in between.
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

/// What one thread at a time may do by an agreement other than a lock. It costs nothing and makes nobody wait; the
/// check sees that whoever touches what it guards has taken it.
class CAPABILITY("role") Role {
 public:
  void take() ACQUIRE() {}
  void give_back() RELEASE() {}
};

class CondVar {
 public:
  /// Gives the mutex up while it waits. May return although nobody notified.
  void wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  void notify_one() { condition_.notify_one(); }

 private:
  std::condition_variable condition_;
};

/// For what is read by many threads and seldom changed.
class CAPABILITY("mutex") SharedMutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }
  void lock_shared() ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

class SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) ACQUIRE_SHARED(mutex) : lock_(mutex) {}
  ~ReaderLock() RELEASE_GENERIC() = default;
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  std::shared_lock<SharedMutex> lock_;
};

class SCOPED_CAPABILITY WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) ACQUIRE(mutex) : lock_(mutex) {}
  ~WriterLock() RELEASE() = default;
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  std::unique_lock<SharedMutex> lock_;
};

}  // namespace tidemark
