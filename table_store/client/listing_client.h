// The table store as lookups see it, beside TableClient: rows that list entities, read with what they list
// (model/listed.h).
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

}  // namespace calls

class ListingClient {
  rpc::Caller caller_;

 public:
  /// Calls as `account`; the transport must outlive the client.
  ListingClient(rpc::Transport& transport, std::string account)
      : caller_{transport, std::move(account), std::chrono::seconds(10)} {}
  ListingClient(const ListingClient&) = delete;
  ListingClient& operator=(const ListingClient&) = delete;

  /// Rows that list entities, with these, and what is known of how true the rows are. kTableNotFound for the table of
  /// the rows.
  rpc::Method<calls::FindListed> find_listed{caller_};
};

}  // namespace tidemark::table_store
