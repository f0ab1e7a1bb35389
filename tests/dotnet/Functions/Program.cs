using Xunit.Runner.InProc.SystemConsole;

namespace Tidemark.Tests.Functions;

/// Runs the cases, or is one host in a process of its own, which a case can kill.
public static class Program
{
    public const string HostWord = "host";

    public static async Task<int> Main(string[] arguments) =>
        arguments is [HostWord, var functions, var id, var name]
            ? await ProcessOfAHost.Run(Type.GetType(functions)!, id, name)
            : await ConsoleRunner.Run(arguments);
}
