// A client of the table store for lookups, beside TableClient: reads rows that list or copy entities, and tells
// whether they are current (model/listed.h).
#pragma once
#include "common/rpc/call.h"
#include "table_store/model/listed.h"

namespace tidemark::table_store {
namespace calls {

struct FindListed {
  static constexpr std::string_view kMethod = "table.find_listed";
  using Reply = ListedPage;
  std::string account;
  ListedRequest request;
};

struct FindCopies {
  static constexpr std::string_view kMethod = "table.find_copies";
  using Reply = CopiesPage;
  std::string account;
  CopiesRequest request;
};

}  // namespace calls

class ListingClient {
  rpc::Caller caller_;

 public:
  /// Calls as `account`; the transport must outlive the client.
  ListingClient(rpc::Transport& transport, std::string account)
      : caller_{transport, std::move(account), std::chrono::seconds(10)} {}
  ListingClient(const ListingClient&) = delete;
  ListingClient& operator=(const ListingClient&) = delete;

  /// Reads rows that list entities, with these entities, and tells for each whether it is settled. kTableNotFound for
  /// the table of the rows.
  rpc::Method<calls::FindListed> find_listed{caller_};
  /// Reads copies of entities likewise. A reply holds about 4 MiB: there may be fewer copies than were asked for.
  rpc::Method<calls::FindCopies> find_copies{caller_};
};

}  // namespace tidemark::table_store
