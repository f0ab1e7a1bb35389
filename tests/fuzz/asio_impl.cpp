// The bodies of Asio: every error holds on to its categories.
#include <boost/asio/impl/src.hpp>
