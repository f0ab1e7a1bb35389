using Xunit.Runner.InProc.SystemConsole;

namespace Tidemark.Tests.Silos;

/// Runs the cases, or is one silo in a process of its own, which a case can kill.
public static class Program
{
    public const string SiloWord = "silo";

    public static async Task<int> Main(string[] arguments) =>
        arguments is [SiloWord, var cluster, var name, var port]
            ? await ProcessOfASilo.Run(new Silo(cluster, name, int.Parse(port)))
            : await ConsoleRunner.Run(arguments);
}
