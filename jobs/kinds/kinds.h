// The list of the built-in kinds of job, one line for each. The work of a job is that of one of them, or that of a kind
// which users have declared. Pure.
#pragma once
#include <algorithm>
#include <array>
#include <variant>

#include "jobs/kinds/adopt/adopt.h"
#include "jobs/kinds/apply/apply.h"
#include "jobs/kinds/archive/archive.h"
#include "jobs/kinds/callback/callback.h"
#include "jobs/kinds/copy/copy.h"
#include "jobs/kinds/delete/delete.h"
#include "jobs/kinds/discard/discard.h"
#include "jobs/kinds/index/index.h"
#include "jobs/kinds/merge/merge.h"
#include "jobs/kinds/offload/offload.h"
#include "jobs/kinds/orphans/orphans.h"
#include "jobs/kinds/own/own.h"
#include "jobs/kinds/purge/purge.h"
#include "jobs/kinds/redrive/redrive.h"
#include "jobs/kinds/rekey/rekey.h"
#include "jobs/kinds/transaction/transaction.h"
#include "jobs/kinds/undo/undo.h"

namespace tidemark::jobs {

template <Kind... Specs>
struct KindList {
  using Work = std::variant<Specs..., OwnSpec>;
  static constexpr std::array<std::string_view, sizeof...(Specs)> kNames{Specs::kName...};
  /// Calls `visit` with an empty spec of each kind.
  static void for_each(auto visit) { (visit(Specs{}), ...); }
};

// clang-format off
using Kinds = KindList<
    ArchiveSpec,
    IndexSpec,
    UnarchiveSpec,
    CopySpec,
    DeleteSpec,
    UndoSpec,
    RedriveSpec,
    CallbackSpec,
    OffloadSpec,
    InlineSpec,
    AdoptSpec,
    RekeySpec,
    MergeSpec,
    DiscardSpec,
    OrphansSpec,
    PurgeSpec,
    TransactionSpec,
    ApplySpec>;
// clang-format on
using JobWork = Kinds::Work;
static_assert(Kind<OwnSpec>);

constexpr bool is_kind(std::string_view name) { return std::ranges::find(Kinds::kNames, name) != Kinds::kNames.end(); }

}  // namespace tidemark::jobs
