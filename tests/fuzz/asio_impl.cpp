// The implementation of Asio, which every error needs for its categories.
#include <boost/asio/impl/src.hpp>
