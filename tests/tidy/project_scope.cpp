// A plugin for clang-tidy: its checks look only at the declarations of this project. Without it, each check walks
// through everything that the libraries' headers declare, for every file anew, which takes eleven times as long. LLVM
// 21 does so by itself.
#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>
#include <clang/ASTMatchers/ASTMatchers.h>

#include <vector>

namespace {

using clang::ast_matchers::MatchFinder;

/// Finds nothing itself. The translation unit is matched before its contents are visited, so its scope can be set here.
class ProjectScope final : public clang::tidy::ClangTidyCheck {
 public:
  using ClangTidyCheck::ClangTidyCheck;

  void registerMatchers(MatchFinder* finder) override {
    finder->addMatcher(clang::ast_matchers::translationUnitDecl(), this);
  }

  void check(const MatchFinder::MatchResult& result) override {
    const auto& sources = *result.SourceManager;
    std::vector<clang::Decl*> own;
    // The precompiled header contains nothing of the project, so it is not loaded.
    for (auto* declared : result.Context->getTranslationUnitDecl()->noload_decls()) {
      const auto where = sources.getExpansionLoc(declared->getLocation());
      if (where.isValid() && !sources.isInSystemHeader(where)) own.push_back(declared);
    }
    result.Context->setTraversalScope(own);
  }
};

class Module final : public clang::tidy::ClangTidyModule {
 public:
  void addCheckFactories(clang::tidy::ClangTidyCheckFactories& factories) override {
    factories.registerCheck<ProjectScope>("tidemark-project-scope");
  }
};

const clang::tidy::ClangTidyModuleRegistry::Add<Module> kRegistered("tidemark", "The scope of all other checks.");

}  // namespace
