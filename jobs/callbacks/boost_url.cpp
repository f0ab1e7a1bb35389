// Compiles the implementation of Boost.URL, here and in no other file.
#include <boost/url/src.hpp>
