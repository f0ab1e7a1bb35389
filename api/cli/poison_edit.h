// Editing the job, or the text, of a poison message: from a file, or in the editor of whoever asks.
#pragma once
#include "api/cli/poison_selection.h"

namespace tidemark::cli {

/// What the api takes: the job in a file, or in what `poison show --json` printed of one; of a queue of yours, its
/// text.
Result<std::string> edited_content(const std::string& file, const PoisonQueue& queue);
/// In $VISUAL or $EDITOR; nothing if it was left as it is.
Result<std::optional<std::string>> edit_by_hand(const GlobalOptions& options, const std::string& id,
                                                const PoisonQueue& queue);
/// A text that was put in Base64, as some SDKs do, as what it says; nothing if it was not.
std::optional<std::string> decoded_text(const std::string& text);

}  // namespace tidemark::cli
