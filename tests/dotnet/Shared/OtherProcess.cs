using System.Diagnostics;
using System.Reflection;

namespace Tidemark.Tests.Shared;

/// This program once more, with arguments of its own, in a process that a case can kill. It ends when its input ends, so it
/// does not outlive the cases.
public sealed class OtherProcess : IDisposable
{
    readonly Process process;

    public OtherProcess(params string[] arguments) =>
        process = Process.Start(new ProcessStartInfo("dotnet", [Assembly.GetEntryAssembly()!.Location, .. arguments])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        })!;

    /// Waits until the process has written this line.
    public async Task Says(string line)
    {
        while (await process.StandardOutput.ReadLineAsync() is { } said)
        {
            if (said == line) return;
        }
        Assert.Fail($"the process ended without saying: {line}");
    }

    /// Ends it with SIGKILL.
    public void Kill()
    {
        if (process.HasExited) return;
        process.Kill();
        process.WaitForExit();
    }

    public void Dispose() => Kill();

    /// What such a process waits for.
    public static Task<string> EndOfInput() => Console.In.ReadToEndAsync();
}
